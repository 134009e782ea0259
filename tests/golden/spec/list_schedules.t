-- RUN: list schedules --json
-- >>> exit 0
{"version": 1, "kind": "schedules", "names": [
 {"name": "constant", "doc": "lr to the end, after warm-up"},
 {"name": "linear", "doc": "in a straight line from lr, after warm-up, to floor"},
 {"name": "cosine", "doc": "along half a cosine from lr, after warm-up, to floor"},
 {"name": "wsd", "doc": "warmup, stable, decay: lr until the last `decay` steps, then along `shape` to floor"},
 {"name": "polynomial", "doc": "along (1 - p)^power from lr, after warm-up, to floor"},
 {"name": "inverse_sqrt", "doc": "lr sqrt(warmup / step), after warm-up"}]}
