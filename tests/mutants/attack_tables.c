/* attack_tables.c -- changes to what a plan says beside its calls and records. */
#include "runtime/plan/plan_hash.h"
#include "runtime/plan/plan_text.h"
#include "tests/mutants/attack_edit.h"

/* ---- the whole job */

static PlanAxis *axis_called(const Edit *e, const char *name) {
  for (uint32_t i = 0; i < e->b->axes_count; i++)
    if (strcmp(string(e, e->b->axes[i].name), name) == 0) return &e->b->axes[i];
  wrong(e, "no such axis");
}

void change_divides(Edit *e) {
  axis_called(e, word(e, 1))->divides = one_of(e, word(e, 2), Divides_names, Divides_COUNT);
}

/* A row by its name in settings.def; JOB_ROW_COUNT: there is none. */
static uint32_t row_called(const Edit *e, int index) {
  uint32_t row = 0;
  while (row < JOB_ROW_COUNT && !is_word(e, index, job_rows[row].name))
    row++;
  return row;
}

/* A number, that of another row, or a word. */
void change_field(Edit *e) {
  const uint32_t row = row_called(e, 1), from = row_called(e, 2);
  if (row == JOB_ROW_COUNT) wrong(e, "no such field");
  e->b->settings[row].kind = job_rows[row].kind; /* the job may not have had the key */
  if (job_rows[row].kind == SETTING_TEXT)
    build_word(e->b, row, word(e, 2));
  else if (job_rows[row].kind == SETTING_REAL)
    *build_real(e->b, row) = number(e, 2);
  else
    *build_count(e->b, row) =
        from < JOB_ROW_COUNT ? *build_count(e->b, from) : (int64_t)number(e, 2);
}

/* ---- the tables beside */

void change_buffer(Edit *e) {
  uint32_t i = 0, kind = one_of(e, word(e, 2), BufferKind_names, BufferKind_COUNT);
  for (; i < e->b->buffers_count; i++)
    if (matches(word(e, 1), string(e, e->b->buffers[i].name))) break;
  if (i == e->b->buffers_count) wrong(e, "no such buffer");
  e->b->buffers[i].kind = kind;
}

static PlanInput *input_called(const Edit *e, const char *name) {
  for (uint32_t i = 0; i < e->b->inputs_count; i++)
    if (strcmp(string(e, e->b->inputs[i].name), name) == 0) return &e->b->inputs[i];
  wrong(e, "no such input");
}

void change_input(Edit *e) {
  PlanInput *input = input_called(e, word(e, 1));
  if (is_word(e, 2, "role"))
    input->role = one_of(e, word(e, 3), InputRole_names, InputRole_COUNT);
  else if (is_word(e, 2, "vocab"))
    input->vocab = (uint32_t)changed(e, 3, input->vocab);
  else if (is_word(e, 2, "sample_elements"))
    input->sample_elements = (int64_t)changed(e, 3, (double)input->sample_elements);
  else if (is_word(e, 2, "columns"))
    input->columns = build_string(e->b, word(e, 3));
  else
    wrong(e, "no such field");
}

void change_file(Edit *e) {
  const uint32_t one = (uint32_t)number(e, 1), other = (uint32_t)number(e, 3);
  if (one >= e->b->files_count || other >= e->b->files_count) wrong(e, "no such file");
  e->b->files[one].path = e->b->files[other].path;
}

/* "d NAME": the gradient of that parameter, and not the parameter. */
static bool is_named(const Edit *e, uint32_t value, const char *pattern) {
  if (value == PLAN_NONE) return false;
  const bool is_gradient = strncmp(pattern, "d ", 2) == 0;
  return is_gradient == (e->b->values[value].kind == VALUE_PARAM_GRAD) &&
         matches(pattern + 2 * is_gradient, string(e, e->b->values[value].name));
}

/* A copy of a layout in which one dim is another. */
static uint32_t change_layout_dim(Edit *e, uint32_t layout) {
  PlanLayout copy = e->b->layouts[layout];
  const uint32_t dim = (uint32_t)number(e, 2), first = e->b->layout_dims_count;
  if (dim >= copy.dims_count) wrong(e, "no such dim");
  for (uint32_t i = 0; i < copy.dims_count; i++) {
    PlanLayoutDim of = e->b->layout_dims[copy.dims_first + i];
    const uint32_t cuts = e->b->cuts_count;
    for (uint32_t k = 0; k < of.cuts_count; k++)
      build_cuts(e->b, e->b->cuts[of.cuts_first + k]);
    of.cuts_first = cuts;
    if (i == dim && is_word(e, 3, "name"))
      of.name = build_string(e->b, word(e, 4));
    else if (i == dim && is_word(e, 3, "real"))
      of.real_size = (int64_t)changed(e, 4, (double)of.real_size);
    else if (i == dim)
      of.real_size = of.size = (int64_t)changed(e, 3, (double)of.size);
    build_layout_dims(e->b, of);
  }
  copy.dims_first = first;
  return build_layouts(e->b, copy);
}

/* With all operands and tensors that hold it by the plan. */
void change_dim_of(Edit *e) {
  bool found = false;
  for (uint32_t v = 0; v < e->b->values_count; v++) {
    if (!is_named(e, v, word(e, 1))) continue;
    e->b->values[v].layout = change_layout_dim(e, e->b->values[v].layout);
    found = true;
  }
  for (uint32_t i = 0; i < e->b->operands_count; i++)
    if (is_named(e, e->b->operands[i].value, word(e, 1)) && e->b->operands[i].layout != PLAN_NONE)
      e->b->operands[i].layout = change_layout_dim(e, e->b->operands[i].layout);
  for (uint32_t i = 0; i < e->b->tensors_count; i++)
    if (is_named(e, e->b->tensors[i].value, word(e, 1)))
      e->b->tensors[i].layout = change_layout_dim(e, e->b->tensors[i].layout);
  if (!found) wrong(e, "no such value");
}

/* Records that carry it out draw the same. */
void change_node(Edit *e) {
  int skip = (int)number(e, 1);
  uint32_t n = 0;
  for (; n < e->b->nodes_count; n++)
    if (matches(word(e, 2), string(e, e->b->nodes[n].op)) &&
        matches(word(e, 3), string(e, e->b->nodes[n].path)) && skip-- == 0)
      break;
  if (n == e->b->nodes_count) wrong(e, "no such node");
  if (is_word(e, 4, "path")) {
    e->b->nodes[n].path = build_string(e->b, word(e, 5));
    e->b->nodes[n].key = plan_key(word(e, 5));
  } else {
    e->b->nodes[n].key += (uint64_t)number(e, 5);
  }
  for (uint32_t i = 0; i < e->b->records_count; i++)
    if (e->b->records[i].node == n) e->b->records[i].key = e->b->nodes[n].key;
}

static PlanParameter *parameter_called(const Edit *e, const char *name) {
  for (uint32_t i = 0; i < e->b->parameters_count; i++)
    if (strcmp(string(e, e->b->values[e->b->parameters[i].value].name), name) == 0)
      return &e->b->parameters[i];
  wrong(e, "no such parameter");
}

/* With the records that make its initial values. */
void change_parameter(Edit *e) {
  PlanParameter *one = parameter_called(e, word(e, 1));
  if (is_word(e, 2, "decay")) {
    one->decay = (uint32_t)number(e, 3);
    return;
  }
  if (is_word(e, 2, "spread")) {
    one->init_b = changed(e, 3, one->init_b);
    return;
  }
  const uint64_t was = one->key;
  one->key = parameter_called(e, word(e, 4))->key;
  for (uint32_t i = 0; i < e->b->records_count; i++)
    if (e->b->records[i].purpose == PURPOSE_INIT && e->b->records[i].key == was)
      e->b->records[i].key = one->key;
}

/* Left out: under a name that nobody asks for. Derived: as if it were no key of the job, which no
 * checkpoint compares. */
void change_setting(Edit *e) {
  uint32_t i = 0;
  while (i < e->b->settings_count && !is_word(e, 1, string(e, e->b->settings[i].key)))
    i++;
  if (i == e->b->settings_count) wrong(e, "no such setting");
  PlanSetting *setting = &e->b->settings[i];
  if (is_word(e, 2, "drop"))
    setting->key = build_string(e->b, "dropped");
  else if (is_word(e, 2, "twice"))
    build_settings(e->b, *setting);
  else if (is_word(e, 2, "derived"))
    setting->effect = SETTING_DERIVED;
  else
    setting->text = build_string(e->b, word(e, 3));
}

void change_tensors(Edit *e) {
  uint32_t one = build_string(e->b, word(e, 1)), other = build_string(e->b, word(e, 4));
  for (uint32_t i = 0; i < e->b->tensors_count; i++) {
    uint32_t *name = &e->b->tensors[i].name;
    *name = *name == one ? other : *name == other ? one : *name;
  }
}
