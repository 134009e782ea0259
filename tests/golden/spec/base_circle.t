return job { "./a.lua" }
-- FILE: a.lua
return job { "./b.lua" }
-- FILE: b.lua
return job { "./a.lua" }
-- >>> exit 1
b.lua:1:14: error[base-cycle]: a.lua starts from itself
    1 | return job { "./a.lua" }
      |              ^~~~~~~~~
