-- A cluster with Slurm and nothing else to say: what the job asks for is what sbatch is told.
return {}
