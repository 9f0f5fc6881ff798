import PosternJSON

extension AdobePassAnswer {
  /// Parses `{to, kind, times?, status?, code?, action?, shape?, delayMs?, set?, remove?, rename?, timestamps?}`.
  init(_ json: JSONValue) throws(ControlBody.Problem) {
    guard let members = json.objectValue else { throw ControlBody.Problem(message: "answers: objects are expected") }
    let body = ControlBody(members: members)
    try body.rejectOthers(than: [
      "to", "kind", "times", "status", "code", "action", "details", "shape", "delayMs", "set", "remove", "rename",
      "timestamps",
    ])
    call = try AdobePassSettings.named(try body.string("to") ?? "", "to")
    kind = try AdobePassSettings.named(try body.string("kind") ?? "", "kind")
    times = try body.integer("times", in: 1...1_000_000) ?? 1
    status = try body.integer("status", in: 200...599).map(Int.init)
    shape = try body.string("shape").map { name throws(ControlBody.Problem) in
      try AdobePassSettings.named(name, "shape")
    }
    delayMilliseconds = try body.integer("delayMs", in: 0...Int64(Limits.delayMilliseconds)) ?? 1000
    error = try Self.error(body, kind, status)
    change = kind == .change ? try Self.change(body) : nil
  }

  private static func error(
    _ body: ControlBody, _ kind: Kind, _ status: Int?
  ) throws(ControlBody.Problem) -> AdobePassError? {
    guard kind == .error else { return nil }
    guard let code = try body.string("code") else { throw ControlBody.Problem(message: "code: a string is expected") }
    let usual = AdobePassError(code)
    return AdobePassError(
      code, status ?? usual.status, try body.string("action") ?? usual.action, details: try body.string("details"))
  }

  private static func change(_ body: ControlBody) throws(ControlBody.Problem) -> AdobePassChange {
    var change = AdobePassChange()
    change.values = (body.members["set"]?.objectValue ?? JSONObject()).members.map { ($0.name, $0.value) }
    change.removed = try body.strings("remove") ?? []
    for member in (body.members["rename"]?.objectValue ?? JSONObject()).members {
      guard let name = member.value.stringValue else {
        throw ControlBody.Problem(message: "rename: names are expected")
      }
      change.names[member.name] = name
    }
    switch try body.string("timestamps") {
    case nil: break
    case "strings"?: change.timesAreStrings = true
    case "numbers"?: change.timesAreStrings = false
    default: throw ControlBody.Problem(message: "timestamps: strings or numbers is expected")
    }
    return change
  }
}
