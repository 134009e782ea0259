return job(model="gpt2", steps=10)
-- >>> exit 1
job.lua:1:11: error[syntax]: job takes a table, in braces
    1 | return job(model="gpt2", steps=10)
      |           ^
        fix: job { model="gpt2", steps=10 }
