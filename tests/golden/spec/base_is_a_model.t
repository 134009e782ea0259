return job { "gpt2-124m" }
-- >>> exit 1
job.lua:1:14: error[path]: a base file begins with ./ or /; got "gpt2-124m"
    1 | return job { "gpt2-124m" }
      |              ^~~~~~~~~~~
        fix: model = "gpt2-124m"
