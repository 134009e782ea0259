-- RUN: help explain
-- >>> exit 0
usage: lockstep explain JOB.lua [KEY] [options]
    why? memory, layouts, schedule, or a key's origin

  -D KEY=VALUE          sets one key, section.key=value, or a section,
                        section=NAME; later wins. A table is written as in a
                        file, 'parallel.pipeline={"interleaved", chunks=4}', or
                        by key, parallel.pipeline.chunks=4
  --no-data             do not look for the data files
  --layouts             every communication: layout before and after, bytes
  --schedule            pipeline stages, bubble, the step as a timeline
  --svg FILE            the timeline of --schedule, or the machine, as a picture
                        too
  --map                 which rank is which coordinate, on which node
  --launch              what Slurm is asked for, and which key says so
  --why rank=N          every buffer of a rank that is alive at its peak
  --values              every key: its value, and where that came from
  --against KEY=VALUE   beside this job, the one that -D KEY=VALUE makes
  --json                the answer on stdout as JSON
  -q, --quiet           nothing but results and errors
  --color WHEN          auto, always or never; NO_COLOR is heeded
