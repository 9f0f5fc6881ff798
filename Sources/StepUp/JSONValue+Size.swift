import PosternJSON

extension JSONValue {
  /// The approximate size in memory: small values take many times their text.
  var byteCount: Int {
    switch self {
    case .null, .bool, .integer, .real: 40
    case .string(let text): 40 + text.utf8.count
    case .array(let elements): elements.reduce(72) { $0 + $1.byteCount }
    case .object(let object): object.members.reduce(72) { $0 + 48 + $1.name.utf8.count + $1.value.byteCount }
    }
  }
}
