# The configuration is here, and the script's own arguments are not known.
deepspeed train.py --deepspeed ds_zero2.json --epochs 3
