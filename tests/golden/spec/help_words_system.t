-- RUN: help ZeRO-Infinity
-- >>> exit 0
ZeRO-Infinity, a name of papers and systems: that is offload.path here
    offload.path: nvme: a directory of a disk of the node, in which each rank
    keeps one file without a name: nothing of it remains, however the run ends
