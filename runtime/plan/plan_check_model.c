/* plan_check_model.c -- layouts, the model, and that tensors are cut as their layouts say. */
#include "runtime/plan/limits.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_layout.h"
#include "runtime/plan/plan_why.h"

static uint32_t axis_size(const Plan *plan, uint32_t axes) {
  uint32_t size = 1;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (axes >> axis & 1u) size *= plan->axes[axis].size;
  return size;
}

/* Every axis at most once, and parts are whole numbers of elements. */
static bool check_dim(const Plan *plan, uint32_t index, uint32_t *axes, char *why) {
  const PlanLayoutDim *dim = &plan->layout_dims[index];
  int64_t part = dim->size;
  if (dim->size < 1 || dim->real_size < 1 || dim->real_size > dim->size)
    return plan_refuse(why, "layout_dims[%u]: size %lld, %lld without padding", index,
                       (long long)dim->size, (long long)dim->real_size);
  for (uint32_t i = 0; i < dim->cuts_count; i++) {
    uint32_t axis = plan->cuts[dim->cuts_first + i].axis;
    if (axis >= plan->axes_count || (*axes >> axis & 1u) != 0 || part % plan->axes[axis].size != 0)
      return plan_refuse(why, "layout_dims[%u]: cannot be cut along axis %u", index, axis);
    *axes |= 1u << axis;
    part /= plan->axes[axis].size;
  }
  return true;
}

static bool check_layout(const Plan *plan, uint32_t index, char *why) {
  const PlanLayout *layout = &plan->layouts[index];
  uint64_t known = ((uint64_t)1 << plan->axes_count) - 1;
  uint32_t axes = 0;
  for (uint32_t i = 0; i < layout->dims_count; i++)
    if (!check_dim(plan, layout->dims_first + i, &axes, why)) return false;
  if (((layout->flat_axes | layout->owed_axes) & ~known) != 0 || (axes & layout->flat_axes) != 0 ||
      (axes & layout->owed_axes) != 0 || (layout->flat_axes & layout->owed_axes) != 0)
    return plan_refuse(why, "layouts[%u]: one axis is used twice, or is none of the mesh", index);
  if (layout->piece < 0)
    return plan_refuse(why, "layouts[%u]: pieces of %lld elements", index,
                       (long long)layout->piece);
  return true;
}

/* The size of a rank's part of one dim. */
static int64_t part_of(const Plan *plan, const PlanLayoutDim *dim) {
  int64_t part = dim->size;
  for (uint32_t i = 0; i < dim->cuts_count; i++)
    part /= plan->axes[plan->cuts[dim->cuts_first + i].axis].size;
  return part;
}

/* A tensor whose layout has no dims belongs to a plan without a model: nothing can be checked. */
static bool check_tensor_layout(const Plan *plan, uint32_t index, char *why) {
  const PlanTensor *tensor = &plan->tensors[index];
  const PlanLayout *layout = &plan->layouts[tensor->layout];
  const char *name = plan_string(plan, tensor->name);
  uint32_t axes = plan_layout_axes(plan, tensor->layout);
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if ((axes >> axis & 1u) != 0 && plan->axes[axis].size > 1 &&
        (job_state_axes(plan) >> axis & 1u) == 0)
      return plan_refuse(why, "tensors[%u] %s: differs along %s, which state_axes leaves out",
                         index, name, plan_string(plan, plan->axes[axis].name));
  if (layout->dims_count == 0) return true;
  int64_t elements = 1;
  for (uint32_t i = 0; i < layout->dims_count; i++)
    if (__builtin_mul_overflow(elements, part_of(plan, &plan->layout_dims[layout->dims_first + i]),
                               &elements))
      return plan_refuse(why, "tensors[%u] %s: too many elements", index, name);
  bool flat = layout->flat_axes != 0;
  int64_t members = axis_size(plan, layout->flat_axes);
  bool fits = !flat ? elements == tensor->elements
                    : layout->piece == tensor->elements && elements / members <= layout->piece;
  if (!fits)
    return plan_refuse(why, "tensors[%u] %s: %lld elements, but its layout gives a rank %lld",
                       index, name, (long long)tensor->elements,
                       (long long)(flat ? layout->piece : elements));
  return true;
}

/* The tensor of the same parameter and layers whose codes these maxima are of; NULL: there is none.
 */
static const PlanTensor *codes_of(const Plan *plan, const PlanClass *class,
                                  const PlanTensor *maxima) {
  const uint32_t kind = maxima->kind == BUFFER_MOMENT1_MAX ? BUFFER_MOMENT1 : BUFFER_MOMENT2;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    if (tensor->kind == kind && tensor->value == maxima->value && tensor->name == maxima->name &&
        tensor->layer_first == maxima->layer_first && tensor->layer_count == maxima->layer_count)
      return tensor;
  }
  return NULL;
}

/* Codes and maxima belong together: as many blocks as the storage says. */
static bool check_storage(const Plan *plan, const PlanClass *class, uint32_t index, char *why) {
  const PlanTensor *tensor = &plan->tensors[index];
  const char *name = plan_string(plan, tensor->name);
  const bool is_maxima = tensor->kind == BUFFER_MOMENT1_MAX || tensor->kind == BUFFER_MOMENT2_MAX;
  if ((tensor->dtype == DTYPE_U8 || is_maxima) != (tensor->storage != PLAN_NONE))
    return plan_refuse(why, "tensors[%u] %s: in %s, and %s storage", index, name,
                       dtype_name((DType)tensor->dtype),
                       tensor->storage == PLAN_NONE ? "without a" : "with another");
  if (!is_maxima) return true;
  const PlanTensor *codes = codes_of(plan, class, tensor);
  const int64_t block = plan->storages[tensor->storage].block;
  if (codes == NULL || codes->storage != tensor->storage ||
      tensor->elements != (codes->elements + block - 1) / block)
    return plan_refuse(why, "tensors[%u] %s: maxima of no codes of its blocks", index, name);
  return true;
}

static bool check_storages(const Plan *plan, char *why) {
  for (uint32_t i = 0; i < plan->storages_count; i++) {
    const PlanStorage *storage = &plan->storages[i];
    if (storage->bits != 8 || storage->block != CODES_BLOCK ||
        storage->parts != (STORAGE_CODES | STORAGE_MAXIMA))
      return plan_refuse(why, "storages[%u]: no kernel has codes of %u bits in blocks of %u", i,
                         storage->bits, storage->block);
  }
  for (uint32_t c = 0; c < plan->classes_count; c++)
    for (uint32_t i = 0; i < plan->classes[c].tensors_count; i++)
      if (!check_storage(plan, &plan->classes[c], plan->classes[c].tensors_first + i, why))
        return false;
  return true;
}

/* True if a rank of `writer` writes the state of a rank of `class`: it has coordinate 0 along all
 * axes on which state is the same, and the same coordinates along the others. */
static bool writes_for(const Plan *plan, const PlanClass *writer, const PlanClass *class) {
  bool writes = true;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
    const PlanBound *there = &plan->bounds[writer->bounds_first + axis];
    const PlanBound *here = &plan->bounds[class->bounds_first + axis];
    bool differs = (job_state_axes(plan) >> axis & 1u) != 0;
    writes &= differs ? there->first < here->end && here->first < there->end : there->first == 0;
  }
  return writes;
}

static bool same_tensor(const PlanTensor *a, const PlanTensor *b) {
  return a->name == b->name && a->kind == b->kind && a->dtype == b->dtype &&
         a->layer_first == b->layer_first && a->layer_count == b->layer_count &&
         a->size_bytes == b->size_bytes;
}

static bool same_tensors(const Plan *plan, const PlanClass *a, const PlanClass *b) {
  bool same = a->tensors_count == b->tensors_count;
  for (uint32_t i = 0; i < a->tensors_count && same; i++)
    same = same_tensor(&plan->tensors[a->tensors_first + i], &plan->tensors[b->tensors_first + i]);
  return same;
}

/* A checkpoint holds what the writers have; each pipeline stage has its own. */
static bool check_writers(const Plan *plan, char *why) {
  for (uint32_t i = 0; i < plan->classes_count; i++)
    for (uint32_t k = 0; k < plan->classes_count; k++)
      if (i != k && writes_for(plan, &plan->classes[i], &plan->classes[k]) &&
          !same_tensors(plan, &plan->classes[i], &plan->classes[k]))
        return plan_refuse(why,
                           "plan.state_axes: classes[%u] would write the state of "
                           "classes[%u], which has other tensors",
                           i, k);
  return true;
}

/* Parameters of the trained model without padding must be as many as the job says. */
static bool check_parameters(const Plan *plan, char *why) {
  int64_t count = 0;
  if (plan->regions_count == 0) return true;
  for (uint32_t i = 0; i < plan->values_count; i++) {
    const PlanValue *value = &plan->values[i];
    if (value->kind != VALUE_PARAM || value->region == PLAN_NONE ||
        !plan_is_main(plan, &plan->regions[value->region]))
      continue;
    const PlanLayout *layout = &plan->layouts[value->layout];
    int64_t elements = plan->regions[value->region].repeat;
    bool fits = true;
    for (uint32_t k = 0; k < layout->dims_count; k++)
      fits = fits && !__builtin_mul_overflow(
                         elements, plan->layout_dims[layout->dims_first + k].real_size, &elements);
    if (!fits || __builtin_add_overflow(count, elements, &count))
      return plan_refuse(why, "values[%u] %s: too many elements", i,
                         plan_string(plan, value->name));
  }
  if (count == job_parameters(plan)) return true;
  return plan_refuse(why, "plan.parameters: %lld, but the model has %lld",
                     (long long)job_parameters(plan), (long long)count);
}

/* Its tensor in files has two dims where it is transposed, and dims of its own come out. */
static bool check_sources(const Plan *plan, char *why) {
  for (uint32_t i = 0; i < plan->parameters_count; i++) {
    const PlanParameter *parameter = &plan->parameters[i];
    const PlanLayout *layout = &plan->layouts[plan->values[parameter->value].layout];
    bool is_turned = parameter->transposed == 1 && parameter->out_dims > 0 &&
                     parameter->out_dims < layout->dims_count;
    if (parameter->out_dims <= layout->dims_count && (parameter->transposed == 0 || is_turned))
      continue;
    return plan_refuse(why, "parameters[%u]: transposed %u, %u of %u dims come out", i,
                       parameter->transposed, parameter->out_dims, layout->dims_count);
  }
  return true;
}

bool plan_check_model(const Plan *plan, char *why) {
  for (uint32_t i = 0; i < plan->layouts_count; i++)
    if (!check_layout(plan, i, why)) return false;
  for (uint32_t i = 0; i < plan->regions_count; i++)
    if (plan->regions[i].repeat < 1)
      return plan_refuse(why, "regions[%u]: %lld layers", i, (long long)plan->regions[i].repeat);
  for (uint32_t i = 0; i < plan->tensors_count; i++)
    if (!check_tensor_layout(plan, i, why)) return false;
  if (!check_storages(plan, why)) return false;
  if (!check_writers(plan, why)) return false;
  return check_sources(plan, why) && check_parameters(plan, why);
}
