-- RUN: list schedules --json
-- >>> exit 0
{"version": 1, "kind": "schedules", "names": [
 {"name": "constant", "doc": "lr to the end, after warm-up"},
 {"name": "linear", "doc": "in a straight line from lr, after warm-up, to floor"},
 {"name": "cosine", "doc": "along half a cosine from lr, after warm-up, to floor"}]}
