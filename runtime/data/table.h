/* table.h -- a table of numbers from CSV files (runtime/csv/csv.h). */
#ifndef LOCKSTEP_TABLE_H
#define LOCKSTEP_TABLE_H

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

/* rows x columns f32, with the columns of all inputs of the plan in order. */
typedef struct Table {
  float *values;
  int64_t rows;
  int64_t rows_room;
  int32_t columns;
} Table;

/* Reads the plan's training or validation files. Errors name file, line and column. */
bool table_open(Table *table, const Plan *plan, bool valid, Status *status);
void table_close(Table *table);

#endif
