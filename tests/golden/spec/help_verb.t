-- RUN: help explain
-- >>> exit 0
usage: lockstep explain JOB.lua [KEY] [options]
    why? memory, layouts, schedule, or a key's origin

  -D KEY=VALUE          sets one key, section.key=value, or a section,
                        section=NAME; later wins. A table is written as in a
                        file, 'parallel.pipeline={"interleaved", chunks=4}', or
                        by key, parallel.pipeline.chunks=4
  --no-data             do not look for the data files
  --layouts             every communication: layout before and after, bytes;
                        with --json for programs
  --schedule            pipeline stages, bubble, the step as a timeline
  --breakdown           where the expected time of a step goes, part after part
  --svg FILE            the timeline of --schedule, the parts of --breakdown,
                        the ranks of --map, memory against time of tune, or the
                        machine, as a picture too
  --map                 which rank is which coordinate, on which node; with
                        --json each rank
  --launch              what Slurm is asked for, and which key says so
  --why rank=N|place    every buffer of a rank that is alive at its peak; or why
                        ranks are where they are: other orders and what they
                        cost
  --samples A..B        what these steps read: files, documents, and the text
                        that samples begin with; with --json for programs
  --eval                memory of a rank of lockstep eval; what is explained is
                        a run, a checkpoint or a model folder
  --sample              the same of lockstep sample, at the model's positions or
                        -D sample.context
  --values              every key: its value, and where that came from
  --against KEY=VALUE   beside this job, the one that -D KEY=VALUE makes
  --rank N              explain: where a rank is, what it has, with whom it
                        talks over what, and why; logs: of this rank instead of
                        rank 0
  --json                the answer on stdout as JSON
  -q, --quiet           nothing but results and errors
  --color WHEN          auto, always or never; NO_COLOR is heeded
