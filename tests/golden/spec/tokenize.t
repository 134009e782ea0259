-- RUN: tokenize a.txt -o out --hold-out 20%
-- SETUP: printf 'hello world\n' > a.txt
-- >>> exit 0
wrote    out/train.u8   10 tokens
wrote    out/valid.u8   2 tokens
         one token a byte: vocab = 256, format = "u8"
