/* cupti_stand_in.c -- see cupti_stand_in.h. */
#include "tests/unit/cupti_stand_in.h"

#include <cupti.h>
#include <stdbool.h>
#include <string.h>

enum { RECORDS = 256, KINDS = 64, CALLBACKS = 1024, THREADS_DEEP = 4 };

/* Any record, as a buffer holds it: all have the room of the largest. */
typedef union Record {
  CUpti_Activity any;
  CUpti_ActivityKernel9 kernel;
  CUpti_ActivityMemcpy5 copy;
  CUpti_ActivityMemset4 clear;
  CUpti_ActivityExternalCorrelation name;
  uint64_t align;
} Record;

static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc give;
static CUpti_BuffersCallbackCompleteFunc take;
static CUpti_TimestampCallbackFunc clock_of;
static bool is_on[KINDS], calls_back[CALLBACKS], tells_nodes;
static Record names[RECORDS], activities[RECORDS];
static int names_count, activities_count, faults, flaw;
static uint32_t correlations;
static size_t dropped;
/* In the block that every thread begins with: the leak checker fails on one that is made later. */
#define OF_A_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
OF_A_THREAD uint64_t pushed[THREADS_DEEP];
OF_A_THREAD int pushed_count;

static CUptiResult refuse(const char *why) {
  printf("CUPTI's contract: %s\n", why);
  faults++;
  return CUPTI_ERROR_INVALID_PARAMETER;
}

/* NOLINTBEGIN(readability-identifier-naming): the names are the library's */

/* ---- what a test says */

CuptiStandInSet cupti_stand_in_flaw;
void cupti_stand_in_flaw(int now) {
  flaw = now;
}

CuptiStandInCount cupti_stand_in_faults;
int cupti_stand_in_faults(void) {
  int count = faults;
  for (int i = 0; i < KINDS; i++)
    count += is_on[i];
  return count;
}

static void call_back(CUpti_ApiCallbackSite site, uint32_t correlation) {
  CUpti_CallbackData data = {.callbackSite = site, .context = (CUcontext)&faults};
  data.correlationId = correlation;
  if (calls_back[CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel])
    callback(NULL, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &data);
}

static void keep(const CuptiActivity *activity, uint32_t correlation) {
  Record *record = &activities[activities_count];
  const uint64_t start = (uint64_t)activity->start_ns, end = (uint64_t)activity->end_ns;
  memset(record, 0, sizeof *record);
  CUpti_ActivityKind kind = activity->kind == 'k'   ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                            : activity->kind == 'c' ? CUPTI_ACTIVITY_KIND_MEMCPY
                                                    : CUPTI_ACTIVITY_KIND_MEMSET;
  record->any.kind = kind;
  if (!is_on[kind]) return;
  if (activity->kind == 'k') {
    record->kernel.start = start, record->kernel.end = end;
    record->kernel.correlationId = correlation, record->kernel.graphNodeId = activity->node;
  } else if (activity->kind == 'c') {
    record->copy.start = start, record->copy.end = end;
    record->copy.correlationId = correlation, record->copy.graphNodeId = activity->node;
  } else {
    record->clear.start = start, record->clear.end = end;
    record->clear.correlationId = correlation, record->clear.graphNodeId = activity->node;
  }
  activities_count++;
}

CuptiStandInLaunch cupti_stand_in_launched;
void cupti_stand_in_launched(const CuptiActivity *of, int count) {
  const uint32_t correlation = ++correlations;
  call_back(CUPTI_API_ENTER, correlation);
  const bool names_it = is_on[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] &&
                        (flaw != CUPTI_NAMES_ONLY_WITH_CALLS || is_on[CUPTI_ACTIVITY_KIND_DRIVER]);
  if (names_it && pushed_count > 0)
    names[names_count++].name =
        (CUpti_ActivityExternalCorrelation){.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                            .externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                            .externalId = pushed[pushed_count - 1],
                                            .correlationId = correlation};
  for (int i = 0; i < count; i++)
    keep(&of[i], correlation);
  call_back(CUPTI_API_EXIT, correlation);
}

CuptiStandInNode cupti_stand_in_noded;
void cupti_stand_in_noded(uintptr_t node, uintptr_t original) {
  CUpti_GraphData graph = {.node = (CUgraphNode)node, .originalNode = (CUgraphNode)original};
  CUpti_ResourceData data = {.resourceDescriptor = &graph};
  if (tells_nodes)
    callback(NULL, CUPTI_CB_DOMAIN_RESOURCE,
             original != 0 ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
                           : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
             &data);
}

/* ---- the library's calls */

CUptiResult cuptiGetVersion(uint32_t *version) {
  *version = CUPTI_API_VERSION + (flaw == CUPTI_OF_ANOTHER_VERSION);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text) {
  *text = result == CUPTI_SUCCESS ? "CUPTI_SUCCESS" : "CUPTI_ERROR_INVALID_PARAMETER";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc called,
                           void *data) {
  (void)data;
  if (flaw == CUPTI_HAS_A_SUBSCRIBER || callback != NULL)
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *subscriber = (CUpti_SubscriberHandle)&callback;
  callback = called;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (subscriber != (CUpti_SubscriberHandle)&callback || id >= CALLBACKS)
    return refuse("a callback of another subscriber");
  if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    tells_nodes = enable != 0;
  else
    calls_back[id] = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc wanted,
                                           CUpti_BuffersCallbackCompleteFunc completed) {
  give = wanted, take = completed;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now) {
  for (int i = 0; i < KINDS; i++)
    if (is_on[i]) return refuse("a clock after records");
  clock_of = now;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
    return refuse("a kind that changes what is measured");
  if (give == NULL || clock_of == NULL || (int)kind >= KINDS)
    return refuse("a kind before buffers");
  is_on[kind] = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  if ((int)kind >= KINDS || !is_on[kind]) return refuse("a kind that is off is switched off");
  is_on[kind] = false;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                   uint64_t id) {
  if (kind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 || pushed_count == THREADS_DEEP)
    return refuse("ids that are not taken back");
  pushed[pushed_count++] = id;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *last) {
  (void)kind;
  if (pushed_count == 0) return refuse("an id that was not given");
  pushed_count--;
  if (last != NULL) *last = pushed[pushed_count];
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id) {
  *id = (uint64_t)(uintptr_t)node;
  return CUPTI_SUCCESS;
}

/* The newest first, two a buffer. */
static void deliver(const Record *records, int count) {
  for (int left = count; left > 0;) {
    uint8_t *buffer = NULL;
    size_t size = 0, most = 0, used = 0;
    give(&buffer, &size, &most);
    for (; left > 0 && used < 2 * sizeof *records; used += sizeof *records)
      memcpy(buffer + used, &records[--left], sizeof *records);
    take(NULL, 0, buffer, size, used);
  }
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  (void)flag;
  if (flaw == CUPTI_DROPS) dropped = (size_t)activities_count;
  if (flaw != CUPTI_DROPS) deliver(activities, activities_count);
  deliver(names, names_count);
  names_count = activities_count = 0;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
                                       CUpti_Activity **record) {
  uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + sizeof(Record);
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)next;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *count) {
  (void)context, (void)stream;
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}
/* NOLINTEND(readability-identifier-naming) */
