-- The health of an EtcdCluster, as Argo CD shows it, from the conditions that the operator writes.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function is(type, value)
  return conditions[type] ~= nil and conditions[type].status == value
end

local function health(state, type)
  local condition = conditions[type] or {}
  local text = condition.message
  if text == nil or text == "" then
    text = condition.reason or ""
  end
  return { status = state, message = text }
end

if status.observedGeneration == nil or status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "Waiting for the operator to see the spec" }
end
if is("Stalled", "True") then
  return health("Degraded", "Stalled")
end
if status.phase == "Failed" then
  return health("Degraded", "Available")
end
if status.controlPaused then
  return { status = "Suspended", message = "spec.paused is true: the operator changes nothing" }
end
if is("Ready", "True") then
  return health("Healthy", "Ready")
end
if is("Degraded", "True") then
  return health("Degraded", "Degraded")
end
return health("Progressing", "Progressing")
