-- RUN: help
-- >>> exit 0
usage: lockstep VERB ... [options]

  check JOB.lua           is it right?
  compile JOB.lua         what will run? writes NAME.plan
  explain JOB.lua [KEY]   why? memory, layouts, schedule, or a key's origin
  tune JOB.lua            which degrees, order and micro-batch are the fastest
                          that fit?
  diff JOB|PLAN JOB|PLAN  what differs in memory, bytes sent and time? exit 0:
                          nothing, 1: something
  estimate                a table of settings, with the memory and time of each
  show PLAN               the plan as text that parses back
  prove PLAN              does the plan keep its promises?
  run JOB.lua|PLAN        train here
  sbatch JOB.lua          the batch script for Slurm, on stdout
  submit JOB.lua          puts it into Slurm's queue; says first what Slurm
                          would refuse
  status [RUN...]         how are my runs doing? from their folders
  cancel RUN              its ranks save and end
  logs RUN                what a rank has written in its newest start
  preflight JOB.lua       are this machine, or the nodes of this allocation, fit
                          for it?
  rehearse JOB.lua        sends it, made small, through a Slurm on this machine;
                          kills a rank
  checkpoint VERB WHERE   what is saved, and whole? list, show, verify, diff,
                          merge, convert
  export WHAT             a run, a checkpoint or a model folder, as a folder of
                          Hugging Face
  eval WHAT               the loss over all of data.valid, of a run, a
                          checkpoint or a model folder
  sample WHAT             text that a run, a checkpoint or a model folder goes
                          on with
  predict WHAT            what a model of tables says of each row of a CSV file
  trace RUN               when did each record run? the steps of run --trace,
                          for Perfetto
  tokenize FILE...        texts and .jsonl as documents of tokens; without
                          --tokenizer bytes
  topology [FILE...]      what is this machine, or a machine or network? also:
                          gather, check FILE
  import FILE...          a job from files of DeepSpeed, Accelerate, Megatron-LM
                          and other tools
  export-config JOB.lua   the same training as a file of another tool, for
                          baselines; what that cannot say is told
  bench [WHAT [DIR]]      how fast are copies, kernels, disks, matrix products
                          here?
  list [KIND]             which models, clusters, devices, ops ... are there?
  help [WORD]             what does this verb, key, name or diagnostic mean?
  version                 which lockstep is this?

lockstep VERB --help lists all options of a verb. Several verbs have:

  -D KEY=VALUE          sets one key, section.key=value, or a section,
                        section=NAME; later wins. A table is written as in a
                        file, 'parallel.pipeline={"interleaved", chunks=4}', or
                        by key, parallel.pipeline.chunks=4
  --no-data             do not look for the data files
  -o PATH               export-config: the file, else stdout; import: the job
                        file, else stdout; estimate: the table, else stdout;
                        compile: the plan file, else NAME.plan; tokenize: the
                        folder; topology gather: the file, else stdout; trace:
                        the file, else RUN/trace.json; checkpoint merge: the
                        file, convert: the folder; export: the folder; predict:
                        the CSV file; bench copies, kernels, collectives and
                        files: the file of rates for cluster.calibration, to
                        which they add rows; bench --kernels: the table of
                        processors, where it puts its row
  --svg FILE            the timeline of --schedule, the parts of --breakdown,
                        the ranks of --map, memory against time of tune, or the
                        machine, as a picture too
  --rank N              explain: where a rank is, what it has, with whom it
                        talks over what, and why; logs: of this rank instead of
                        rank 0
  --to WHAT             checkpoint convert: dcp, a folder that
                        torch.distributed.checkpoint loads; export-config: whose
                        file it is, deepspeed, megatron, torchtitan, accelerate
                        or trainer
  --loss NAME           of a model with several losses: whose logits --logits
                        writes; whose answer predict gives
  --chat NAME|./FILE.lua
                        the page for messages: llama3, chatml, mistral, or of
                        your own; sample: a prompt is a user's message, and the
                        assistant answers
  --kernels fast|reference
                        which kernels to run; reference is plain and slow
  --on cpu|cuda-host    runs a plan that was made for GPUs, unchanged, on this
                        machine's processors, slowly; without --on such a plan
                        is refused. cuda-host: with the GPU kernels compiled for
                        processors and stand-ins for GPU libraries; slower
                        still, and only from a build folder
  --processes           a process for each rank, all on this machine, instead of
                        threads of one
  --kernels             the variants of the matrix product: version says which
                        this processor is given, bench measures all and prints a
                        row for the table of processors
  --strict              check: lints are errors; import: writes nothing when a
                        key that changes training has no counterpart, or a key
                        is unknown
  --force               writes over a file that is there
  --json                the answer on stdout as JSON
  -q, --quiet           nothing but results and errors
  --color WHEN          auto, always or never; NO_COLOR is heeded

exit  0  done
      1  the job or the command must change
      2  a file or the machine failed; a retry may help
      3  a defect of lockstep
      4  run: nothing was left to do
      5  run: stopped as asked; saved, unless checkpoint.every is "never"
      6  run: ended because another rank did

job.lua: return job { ... } of these sections; lockstep help SECTION has keys

  model        what is trained: a preset, a family, ./file.lua, or ./FOLDER
  data         where samples come from
  train        the science: what a step is, and how many
  optimizer    the update
  schedule     learning rate over steps
  precision    one word sets the row
  parallel     how ranks divide the work
  memory       device memory
  offload      what lies in host memory, or in files, instead of the device's
  sample       what lockstep sample keeps of the texts that it goes on with
  checkpoint   state on disk
  log          what is written while it runs
  cluster      the machine: a library name or ./file.lua
  slurm        the allocation on a cluster with Slurm
