-- RUN: tokenize a.txt -o out
-- >>> exit 1
lockstep: a.txt: No such file or directory
