-- RUN: tokenize a.txt -o out --hold-out 120%
-- SETUP: printf 'hello world\n' > a.txt
-- >>> exit 1
lockstep: --hold-out wants a part below 100% such as 5%, not '120%'
