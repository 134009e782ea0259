#include "kernels/cuda/cudnn_plan.h"

enum { CONFIGS_MAX = 8 };

/* Configurations that cuDNN recommends, best first. */
typedef struct Advice {
  const DnnApi *api;
  DnnDescriptor asked, config[CONFIGS_MAX];
  int64_t count;
} Advice;

static bool ask(Advice *advice, const DnnGraph *graph, const DnnTarget *target, int32_t mode) {
  const DnnApi *api = advice->api;
  return api->descriptor_create(DNN_HEURISTICS, &advice->asked) == DNN_DONE &&
         api->set(advice->asked, DNN_HEURISTICS_GRAPH, DNN_AS_DESCRIPTOR, 1, &graph->whole) ==
             DNN_DONE &&
         api->set(advice->asked, DNN_HEURISTICS_MODE, DNN_AS_HEURISTICS_MODE, 1, &mode) ==
             DNN_DONE &&
         (target->described == NULL ||
          api->set(advice->asked, DNN_HEURISTICS_DEVICE, DNN_AS_DESCRIPTOR, 1,
                   &target->described) == DNN_DONE) &&
         api->finalize(advice->asked) == DNN_DONE;
}

static void let_go(const DnnApi *api, DnnDescriptor *descriptor) {
  if (*descriptor != NULL) (void)api->descriptor_destroy(*descriptor);
  *descriptor = NULL;
}

static void forget(Advice *advice) {
  for (int i = 0; i < CONFIGS_MAX; i++)
    let_go(advice->api, &advice->config[i]);
  let_go(advice->api, &advice->asked);
  advice->count = 0;
}

/* False: no engine in this mode. */
static bool advise(Advice *advice, const DnnGraph *graph, const DnnTarget *target, int32_t mode) {
  const DnnApi *api = advice->api;
  bool good = ask(advice, graph, target, mode);
  for (int i = 0; good && i < CONFIGS_MAX; i++)
    good = api->descriptor_create(DNN_CONFIG, &advice->config[i]) == DNN_DONE;
  good = good && api->get(advice->asked, DNN_HEURISTICS_RESULTS, DNN_AS_DESCRIPTOR, CONFIGS_MAX,
                          &advice->count, advice->config) == DNN_DONE;
  if (good && advice->count > 0) return true;
  forget(advice);
  return false;
}

static int64_t number_of(const DnnApi *api, DnnDescriptor of, int attribute, int64_t otherwise) {
  int64_t count = 0, value = otherwise;
  return api->get(of, attribute, DNN_AS_INT64, 1, &count, &value) == DNN_DONE ? value : otherwise;
}

static int64_t engine_of(const DnnApi *api, DnnDescriptor config) {
  DnnDescriptor engine = NULL;
  int64_t count = 0, number = -1;
  if (api->descriptor_create(DNN_ENGINE, &engine) != DNN_DONE) return -1;
  if (api->get(config, DNN_CONFIG_ENGINE, DNN_AS_DESCRIPTOR, 1, &count, &engine) == DNN_DONE)
    number = number_of(api, engine, DNN_ENGINE_INDEX, -1);
  let_go(api, &engine);
  return number;
}

/* The library's status. */
static int compile(const DnnTarget *target, DnnPlan *plan) {
  const DnnApi *api = plan->api;
  int status = api->descriptor_create(DNN_PLAN, &plan->plan);
  if (status == DNN_DONE && target->handle != NULL)
    status = api->set(plan->plan, DNN_PLAN_HANDLE, DNN_AS_HANDLE, 1, &target->handle);
  if (status == DNN_DONE)
    status = api->set(plan->plan, DNN_PLAN_CONFIG, DNN_AS_DESCRIPTOR, 1, &plan->config);
  if (status == DNN_DONE && target->described != NULL)
    status = api->set(plan->plan, DNN_PLAN_DEVICE, DNN_AS_DESCRIPTOR, 1, &target->described);
  if (status == DNN_DONE) status = api->finalize(plan->plan);
  if (status == DNN_DONE)
    plan->workspace_bytes = number_of(api, plan->plan, DNN_PLAN_WORKSPACE, INT64_MAX);
  else
    let_go(api, &plan->plan);
  return status;
}

/* Takes over the configuration that it accepts. */
static DnnFound take(DnnDescriptor *config, const DnnTarget *target, bool compiles,
                     int64_t workspace_most, DnnPlan *plan) {
  *plan = (DnnPlan){.api = plan->api, .config = *config};
  /* 0: an older library does not say it before the plan is made. */
  plan->workspace_bytes = number_of(plan->api, *config, DNN_CONFIG_WORKSPACE, 0);
  if (plan->workspace_bytes <= workspace_most && compiles) {
    int status = compile(target, plan);
    if (status != DNN_DONE) return status >= DNN_INTERNAL ? DNN_CANNOT_COMPILE : DNN_NO_ENGINE;
  }
  if (plan->workspace_bytes > workspace_most) {
    let_go(plan->api, &plan->plan);
    return DNN_WANTS_WORKSPACE;
  }
  plan->engine = engine_of(plan->api, *config);
  *config = NULL;
  return DNN_FOUND;
}

/* The configurations in the first mode that has some; false: there are none. */
static bool advise_any(Advice *advice, const DnnGraph *graph, const DnnTarget *target) {
  return advise(advice, graph, target, DNN_BEST) || advise(advice, graph, target, DNN_FALLBACK);
}

DnnFound dnn_plan_again(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                        int64_t number, int64_t engine, DnnPlan *plan) {
  Advice advice = {.api = graph->api};
  DnnFound found = DNN_NO_ENGINE;
  *plan = (DnnPlan){.api = graph->api};
  if (!advise_any(&advice, graph, target)) return DNN_NO_ENGINE;
  const bool is_there = number >= 0 && number < advice.count &&
                        engine_of(graph->api, advice.config[number]) == engine;
  if (is_there) found = take(&advice.config[number], target, true, workspace_most, plan);
  forget(&advice);
  plan->number = number;
  if (found != DNN_FOUND) *plan = (DnnPlan){.api = graph->api};
  return found;
}

/* Another one than the first is taken if it is faster by more than noise. */
static bool is_faster(int64_t ns, const DnnTimes *times) {
  return ns < times->took_ns && ns <= times->first_ns / 100 * 98;
}

DnnFound dnn_plan_fastest(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                          DnnTry *time, void *context, DnnPlan *plan, DnnTimes *times) {
  Advice advice = {.api = graph->api};
  DnnFound found = DNN_NO_ENGINE;
  int32_t tried = 0;
  *plan = (DnnPlan){.api = graph->api};
  *times = (DnnTimes){0};
  if (!advise_any(&advice, graph, target)) return DNN_NO_ENGINE;
  for (int64_t i = 0; i < advice.count && tried < DNN_TRIES_MOST; i++) {
    DnnPlan one = {.api = graph->api};
    const DnnFound got = take(&advice.config[i], target, true, workspace_most, &one);
    if (got != DNN_FOUND && got != DNN_NO_ENGINE && found != DNN_FOUND) found = got;
    if (got != DNN_FOUND) continue;
    one.number = i;
    const int64_t ns = time(context, &one);
    if (tried++ == 0) times->first_ns = times->took_ns = ns;
    const bool is_taken = found != DNN_FOUND || is_faster(ns, times);
    DnnPlan other = is_taken ? *plan : one;
    if (found == DNN_FOUND) dnn_plan_free(&other);
    if (is_taken) *plan = one, times->took_ns = ns;
    found = DNN_FOUND;
  }
  forget(&advice);
  if (found != DNN_FOUND) *plan = (DnnPlan){.api = graph->api};
  return found;
}

static DnnFound choose(const DnnGraph *graph, const DnnTarget *target, bool compiles,
                       int64_t workspace_most, DnnPlan *plan) {
  Advice advice = {.api = graph->api};
  DnnFound found = DNN_NO_ENGINE;
  *plan = (DnnPlan){.api = graph->api};
  if (!advise_any(&advice, graph, target)) return DNN_NO_ENGINE;
  for (int64_t i = 0; i < advice.count && found != DNN_FOUND; i++) {
    DnnFound one = take(&advice.config[i], target, compiles, workspace_most, plan);
    if (one != DNN_NO_ENGINE) found = one;
  }
  forget(&advice);
  if (found != DNN_FOUND) *plan = (DnnPlan){.api = graph->api};
  return found;
}

DnnFound dnn_plan_make(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                       DnnPlan *plan) {
  return choose(graph, target, true, workspace_most, plan);
}

DnnFound dnn_plan_look(const DnnGraph *graph, const DnnTarget *target, int64_t workspace_most,
                       DnnPlan *plan) {
  return choose(graph, target, false, workspace_most, plan);
}

void dnn_plan_free(DnnPlan *plan) {
  if (plan->api == NULL) return;
  let_go(plan->api, &plan->plan);
  let_go(plan->api, &plan->config);
}

int dnn_plan_run(const DnnPlan *plan, DnnHandle *handle, int64_t count, const int64_t *id,
                 void *const *address, void *workspace) {
  const DnnApi *api = plan->api;
  DnnDescriptor pack = NULL;
  int status = api->descriptor_create(DNN_PACK, &pack);
  if (status == DNN_DONE) status = api->set(pack, DNN_PACK_IDS, DNN_AS_INT64, count, id);
  if (status == DNN_DONE)
    status = api->set(pack, DNN_PACK_ADDRESSES, DNN_AS_ADDRESS, count, (const void *)address);
  if (status == DNN_DONE)
    status = api->set(pack, DNN_PACK_WORKSPACE, DNN_AS_ADDRESS, 1, (const void *)&workspace);
  if (status == DNN_DONE) status = api->finalize(pack);
  if (status == DNN_DONE) status = api->execute(handle, plan->plan, pack);
  let_go(api, &pack);
  return status;
}
