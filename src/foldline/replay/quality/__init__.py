"""What of a conversation its views keep: measured on recordings, without a judge."""
