import JSON

/// The messages of AuthZEN: what is asked, as JSON (sections 6.1 and 7.1). No member is null.
struct AuthZENQuestion: Sendable {
  /// What a decision point that remembers decisions is told; others pass over it.
  static let bypass = "postern_bypass_cache"

  private let common: JSONObject
  private let resourceType: String
  private let resources: [ResourceName]

  init(_ batch: DecisionBatch, _ settings: AuthZENProvider.Settings) {
    var subject: JSONObject = [
      "type": .string(batch.subject.type ?? settings.subjectType), "id": .string(batch.subject.id),
    ]
    if !batch.subject.properties.isEmpty { subject["properties"] = .object(batch.subject.properties) }
    var common: JSONObject = ["subject": .object(subject), "action": ["name": .string(batch.action)]]
    var context = batch.context
    if batch.bypassesRemoteCache { context[Self.bypass] = true }
    if !context.isEmpty { common["context"] = .object(context) }
    self.common = common
    resourceType = settings.resourceType
    resources = batch.resources
  }

  /// All of them, each to be decided whatever the others get.
  var batch: JSONValue {
    var message = common
    message["evaluations"] = .array(resources.map { ["resource": resource($0)] })
    message["options"] = ["evaluations_semantic": "execute_all"]
    return .object(message)
  }

  /// One of them.
  func single(_ name: ResourceName) -> JSONValue {
    var message = common
    message["resource"] = resource(name)
    return .object(message)
  }

  private func resource(_ name: ResourceName) -> JSONValue {
    guard let fragment = MRSSResource(name.text) else {
      return ["type": .string(resourceType), "id": .string(name.text)]
    }
    var properties: JSONObject = ["mrss": .string(name.text)]
    if let rating = fragment.rating { properties["rating"] = .string(rating) }
    return ["type": .string(resourceType), "id": .string(fragment.title), "properties": .object(properties)]
  }
}
