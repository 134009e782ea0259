return job { 5 }
-- >>> exit 1
job.lua:1:14: error[wrong-type]: the base file is a text such as "./base.lua";
    got 5
    1 | return job { 5 }
      |              ^
