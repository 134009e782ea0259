-- RUN: tokenize a.npy -o out
-- SETUP: head -c 500 /dev/zero > a.npy
-- >>> exit 1
lockstep: a.npy is a NumPy array, not text: extract the text first
