import PosternJSON

/// The messages of AuthZEN: what is asked, as JSON (sections 6.1 and 7.1), written at once because batches are large.
/// No member is null.
struct AuthZENQuestion: Sendable {
  /// What a decision point that remembers decisions is told; others pass over it.
  static let bypass = "postern_bypass_cache"

  private let subject: JSONObject
  private let action: String
  private let context: JSONObject
  private let resourceType: String
  private let resources: [ResourceName]

  init(_ batch: DecisionBatch, _ settings: AuthZENProvider.Settings) {
    var subject: JSONObject = [
      "type": .string(batch.subject.type ?? settings.subjectType), "id": .string(batch.subject.id),
    ]
    if !batch.subject.properties.isEmpty { subject["properties"] = .object(batch.subject.properties) }
    self.subject = subject
    action = batch.action
    var context = batch.context
    if batch.bypassesRemoteCache { context[Self.bypass] = true }
    self.context = context
    resourceType = settings.resourceType
    resources = batch.resources
  }

  /// All of them, each to be decided whatever the others get.
  var batch: [UInt8] {
    let text = JSONComposer()
    appendCommon(to: text)
    text.literal(#","evaluations":["#)
    for (place, name) in resources.enumerated() {
      text.literal(place > 0 ? #",{"resource":"# : #"{"resource":"#)
      append(name, to: text)
      text.literal("}")
    }
    text.literal(#"],"options":{"evaluations_semantic":"execute_all"}}"#)
    return text.finished().bytes
  }

  /// One of them.
  func single(_ name: ResourceName) -> [UInt8] {
    let text = JSONComposer()
    appendCommon(to: text)
    text.literal(#","resource":"#)
    append(name, to: text)
    text.literal("}")
    return text.finished().bytes
  }

  private func appendCommon(to text: borrowing JSONComposer) {
    text.literal(#"{"subject":"#)
    text.value(.object(subject))
    text.literal(#","action":{"name":"#)
    text.string(action)
    text.literal("}")
    guard !context.isEmpty else { return }
    text.literal(#","context":"#)
    text.value(.object(context))
  }

  private func append(_ name: ResourceName, to text: borrowing JSONComposer) {
    let fragment = MRSSResource(name.text)
    text.literal(#"{"type":"#)
    text.string(resourceType)
    text.literal(#","id":"#)
    text.string(fragment?.title ?? name.text)
    if let fragment {
      text.literal(#","properties":{"mrss":"#)
      text.string(name.text)
      if let rating = fragment.rating {
        text.literal(#","rating":"#)
        text.string(rating)
      }
      text.literal("}")
    }
    text.literal("}")
  }
}
