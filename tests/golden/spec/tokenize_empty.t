-- RUN: tokenize empty.txt -o out
-- SETUP: : > empty.txt
-- >>> exit 1
lockstep: empty.txt: is empty
