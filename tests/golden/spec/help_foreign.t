-- RUN: help gradient_accumulation_steps
-- >>> exit 0
gradient_accumulation_steps, a key of DeepSpeed, Accelerate, Hugging Face
    Trainer, torchtitan: nothing is to be set: accumulation is arithmetic: batch
    / (dp x microbatch)
gradient_accumulation_steps, a variable of nanoGPT: that is train.batch here,
    batch_size x it sequences, of all ranks together
    train = { batch = "64 sequences" }
    train.batch: one optimizer step over the whole job; accumulation follows
