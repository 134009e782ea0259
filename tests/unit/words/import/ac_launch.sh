CONFIG=ac_fsdp2.yaml
accelerate launch --config_file $CONFIG --num_processes 4 --fsdp_reshard_after_forward true train.py --lr 1e-4 --epochs 3
