-- RUN: help ZeRO-Infinity
-- >>> exit 0
ZeRO-Infinity, a name of papers and systems: that is offload.path here, which is
    not built yet; remove it: states stay in memory
