extension JSONValue {
  /// About how many bytes its text has, before strings are escaped; looks no further than `limit`.
  public func weight(upTo limit: Int) -> Int {
    switch self {
    case .null, .bool, .integer, .real: 8
    case .string(let text): text.utf8.count + 2
    case .array(let elements):
      Self.sum(elements, upTo: limit) { $0.weight(upTo: $1) + 1 }
    case .object(let object):
      Self.sum(object.members, upTo: limit) { $0.name.utf8.count + 4 + $0.value.weight(upTo: $1) }
    }
  }

  private static func sum<Element>(_ elements: [Element], upTo limit: Int, _ weight: (Element, Int) -> Int) -> Int {
    var total = 2
    for element in elements where total < limit { total += weight(element, limit - total) }
    return total
  }
}
