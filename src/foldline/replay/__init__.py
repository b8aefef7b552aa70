"""What it costs: a recorded session, played again under any configuration."""
