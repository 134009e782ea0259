-- RUN: help load_in_4bit
-- >>> exit 0
load_in_4bit, a key of Accelerate: that is peft.base here, which is not built
    yet; remove the section: all parameters train
