"""
What others need for the same work, in an environment of their own.

```
python -m venv .venv-peers
.venv-peers/bin/python -m pip install --requirement bench/peers/requirements.txt
```
"""
