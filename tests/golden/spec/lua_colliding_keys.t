local t = {}
for i = 1, 60000 do t[i * 65535 * 131071] = i end
return job { model = "gpt2-124m" }
-- >>> exit 1
job.lua:2:1: error[limit]: this takes too long: 2 seconds of processor time; a
    usual file needs milliseconds
    2 | for i = 1, 60000 do t[i * 65535 * 131071] = i end
      | ^
