import AccessManagement
import PosternJSON

extension JourneyState {
  /// Returns body and query. The access manager takes realm and tree of a step from its `authId`; a suspended journey
  /// has only its name.
  func message(
    for phase: JourneyPhase, submitting submission: JourneySubmission
  ) -> (body: JSONValue, query: [(name: String, value: String)]) {
    var query: [(name: String, value: String)] = []
    switch phase {
    case .tree(let name):
      if let name { query += [(name: "authIndexType", value: "service"), (name: "authIndexValue", value: name)] }
    case .composite(let advices), .releasing(let advices, _):
      query += [
        (name: "authIndexType", value: "composite_advice"),
        (name: "authIndexValue", value: CompositeAdvice.xml(advices) ?? ""),
      ]
    case .suspended(let id): query.append((name: "suspendedId", value: id))
    case .authorization: break
    }
    if request.isWithoutSession { query.append((name: "noSession", value: "true")) }
    if request.isForced { query.append((name: "ForceAuth", value: "true")) }
    switch submission {
    case .suspended(let id): return ([:], [(name: "suspendedId", value: id)])
    case .callbacks(let callbacks, let parameters):
      guard case .step(let step) = position else { return ([:], query) }
      var body: JSONObject = ["authId": .string(step.authID), "callbacks": .array(callbacks)]
      if let stage = step.stage { body["stage"] = .string(stage) }
      if let header = step.header { body["header"] = .string(header) }
      if let description = step.description { body["description"] = .string(description) }
      if case .suspended = phase { query.removeAll { $0.name == "suspendedId" } }
      return (.object(body), query + parameters)
    case .begin, .authorized: return ([:], query)
    }
  }
}
