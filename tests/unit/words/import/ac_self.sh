accelerate launch --config_file ac_self.sh --num_processes 8 --mixed_precision bf16 train.py
