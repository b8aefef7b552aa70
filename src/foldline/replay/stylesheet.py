"""How the page of a replay looks, by day and by night."""

__all__ = ["STYLESHEET"]


STYLESHEET = """\
:root {
  --paper: #fbfbfa; --sheet: #ffffff; --ink: #1d2429; --soft: #5b6770; --line: #dfe4e7;
  --history: #8a9aa6; --view: #0b7a75; --fold: #d9730d; --hit: #8cc7c2; --full: #c9d1d6;
  --failed: #b58900; --invalid: #c62839;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181b; --sheet: #1b2125; --ink: #e6eaec; --soft: #9aa7b0; --line: #323b41;
    --history: #7d8d99; --view: #3fc1b8; --fold: #f0953f; --hit: #2c6f6b; --full: #465159;
    --failed: #d8b13a; --invalid: #ff6b78;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; background: var(--paper);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 1320px;
  margin-inline: auto;
}
h1 { font-size: 1.5rem; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 0; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
p { margin: 0.15rem 0 1rem; color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.5rem; }
th, td { padding: 0.4rem 0.7rem; text-align: right; border-bottom: 1px solid var(--line); }
thead th { color: var(--soft); font-weight: 500; font-size: 0.85rem; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
tbody th { font-weight: 600; }
tbody th small { display: block; font-weight: 400; color: var(--soft); }
.baseline th, .baseline td { color: var(--soft); }
.totals { background: var(--sheet); }
.scroll { overflow-x: auto; }
details { margin: 0.75rem 0; }
summary { cursor: pointer; color: var(--soft); }
details table { font-size: 0.85rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; color: var(--soft); }
.legend {
  list-style: none; display: flex; flex-wrap: wrap; gap: 0.4rem 1.2rem; padding: 0;
  margin: 1.5rem 0 0; font-size: 0.9rem; color: var(--soft);
}
.swatch {
  display: inline-block; width: 0.8rem; height: 0.8rem; margin-right: 0.4rem;
  border-radius: 2px; vertical-align: -0.05rem;
}
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr));
  gap: 1.25rem; }
article { background: var(--sheet); border: 1px solid var(--line); border-radius: 8px;
  padding: 1rem 1.1rem; min-width: 0; }
article p { margin-bottom: 0.5rem; font-size: 0.9rem; }
svg { display: block; width: 100%; height: auto; }
svg .grid { stroke: var(--line); }
svg .label { fill: var(--soft); font: 11px system-ui, sans-serif; }
svg .end { text-anchor: end; }
svg .curve { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .history.curve { stroke: var(--history); }
svg .view.curve { stroke: var(--view); }
svg .history.area { fill: var(--history); opacity: 0.18; }
svg .view.area { fill: var(--view); opacity: 0.28; }
svg .fold { fill: var(--fold); }
svg .hit { fill: var(--hit); }
svg .full { fill: var(--full); }
svg .failed { fill: var(--failed); }
svg .invalid { fill: var(--invalid); }
.swatch.history { background: var(--history); }
.swatch.view { background: var(--view); }
.swatch.fold { background: var(--fold); }
.swatch.hit { background: var(--hit); }
.swatch.full { background: var(--full); }
.swatch.failed { background: var(--failed); }
.swatch.invalid { background: var(--invalid); }
"""
"""The style sheet; everything it needs is in it."""
