-- SETUP: { echo 'local t = {'; seq 1048576 65535 3933100000 | sed 's/.*/[&]=1,/'; echo '}'; } > job.lua

-- >>> exit 1
job.lua: error[limit]: this takes too long: 2 seconds of processor time; a usual
    file needs milliseconds
