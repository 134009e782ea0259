return job { "./a.lua", train = { steps = 5 } }
-- FILE: a.lua
return job { model = "gpt2-124m" 
-- >>> exit 1
a.lua:2:1: error[syntax]: '}' expected (to close '{' at line 1) near <eof>
