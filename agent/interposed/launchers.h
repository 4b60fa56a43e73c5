/* The variables by which launchers tell a process which of their ranks it is. C and C++.
 *
 * The names of one launcher belong together: under srun, a torchrun has ranks of its own, and the task's numbers say
 * nothing of them. So the first launcher counts that told its rank. */
#ifndef CASTSCOPE_INTERPOSED_LAUNCHERS_H
#define CASTSCOPE_INTERPOSED_LAUNCHERS_H

#include <stddef.h>

/* What is told, by the names that torchrun, accelerate, DeepSpeed and Lightning use. */
enum { CASTSCOPE_RANK, CASTSCOPE_LOCAL_RANK, CASTSCOPE_WORLD_SIZE, CASTSCOPE_LOCAL_WORLD_SIZE, CASTSCOPE_GROUP_RANK };
#define CASTSCOPE_RANK_NAMES 5
#define CASTSCOPE_LAUNCHERS 4

/* NULL: this launcher does not tell it. The first row's names are those that castscope's own files use. */
static const char* const castscope_launchers[CASTSCOPE_LAUNCHERS][CASTSCOPE_RANK_NAMES] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK"},
    /* mpirun of Open MPI */
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    /* mpirun of MPICH and of Intel MPI */
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS", NULL},
    /* srun. A batch script, which is no task of a step, has SLURM_PROCID too, and has not this size. */
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS", NULL, NULL},
};

typedef const char* (*castscope_variable_fn)(const char* name);

/* Returns the names of the launcher that started this process; those of the first row where none did. */
static inline const char* const* castscope_launcher(castscope_variable_fn variable) {
  for (size_t i = 0; i < CASTSCOPE_LAUNCHERS; i++) {
    const char* const* names = castscope_launchers[i];
    const char* rank = variable(names[CASTSCOPE_RANK]);
    if (rank == NULL || rank[0] == '\0') continue;
    if (i == 0 || variable(names[CASTSCOPE_WORLD_SIZE]) != NULL) return names;
  }
  return castscope_launchers[0];
}

/* Returns NULL where the launcher does not tell it. */
static inline const char* castscope_told(castscope_variable_fn variable, int what) {
  const char* name = castscope_launcher(variable)[what];
  return name != NULL ? variable(name) : NULL;
}

#endif
