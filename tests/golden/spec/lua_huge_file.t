-- SETUP: head -c 2000000 /dev/zero | tr '\0' ' ' > job.lua
-- >>> exit 1
job.lua: error[limit]: job.lua has 2000000 bytes; the limit is 1 MiB
