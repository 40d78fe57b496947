#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A run in N parts as a Slurm array: each task judges its shard, keeps a
# journal, and goes on with it when Slurm starts the task again.
#
#   sbatch --array=1-8 --requeue ci/campaign/slurm.sh FOLDER [OPTION]...
#   mxoracle report FOLDER/run.*.jsonl --baseline=gate.txt
#
# FOLDER is one that all nodes see. MXORACLE names the program. Slurm sends
# SIGTERM before a time limit: the task then closes its report, and starting
# it again judges what is left.
#SBATCH --job-name=mxoracle
#SBATCH --open-mode=append
set -u
folder=${1:?usage: sbatch --array=1-N ci/campaign/slurm.sh FOLDER [OPTION]...}
shift
k=${SLURM_ARRAY_TASK_ID:?this is a task of an array: sbatch --array=1-N}
n=${MXORACLE_SHARDS:-${SLURM_ARRAY_TASK_MAX:?}}
exec "${MXORACLE:-mxoracle}" run --shard="$k/$n" \
    --resume="$folder/journal.$k" --json="$folder/run.$k.jsonl" "$@"
