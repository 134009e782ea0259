local digits = "0x" .. ("f"):rep(65000)
for i = 1, 1e7 do local x = tonumber(digits) end
return job { model = "gpt2-124m" }
-- >>> exit 1
job.lua:2:1: error[limit]: this takes too long: 2 seconds of processor time; a
    usual file needs milliseconds
    2 | for i = 1, 1e7 do local x = tonumber(digits) end
      | ^
