-- RUN: tokenize a.txt -o out --hold-out 0x1p-3
-- SETUP: yes text | head -50 > a.txt
-- >>> exit 1
lockstep: --hold-out wants a part below 100% such as 5%, not '0x1p-3'
