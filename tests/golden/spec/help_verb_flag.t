-- RUN: run --quiet --help
-- >>> exit 0
usage: lockstep run JOB.lua|PLAN [options]
    train here

  -D KEY=VALUE          sets one key, section.key=value, or a section,
                        section=NAME; later wins. A table is written as in a
                        file, 'parallel.pipeline={"interleaved", chunks=4}', or
                        by key, parallel.pipeline.chunks=4
  --steps N             stop after step N of the job's
  --resume HOW          auto: from the newest checkpoint, if the job is still
                        that experiment; never: from nothing; anyway: from the
                        newest, whatever differs; or a checkpoint's path,
                        whatever differs
  --kernels fast|reference
                        which kernels to run; reference is plain and slow
  --on cpu|cuda-host    runs a plan that was made for GPUs, unchanged, on this
                        machine's processors, slowly; without --on such a plan
                        is refused. cuda-host: with the GPU kernels compiled for
                        processors and stand-ins for GPU libraries; slower
                        still, and only from a build folder
  --signal usr1|usr2|term
                        what a batch system sends before its time limit, instead
                        of the job's checkpoint.signal
  --ranks-every N       each rank keeps where the time of its steps goes, and
                        ranks are compared every N steps and at the end: who is
                        slow, and in what
  --trace A..B          each rank keeps when its records ran in steps A to B,
                        for lockstep trace
  --processes           a process for each rank, all on this machine, instead of
                        threads of one
  --no-plot             no loss curve in the terminal
  --json                the answer on stdout as JSON
  -q, --quiet           nothing but results and errors
  --color WHEN          auto, always or never; NO_COLOR is heeded
