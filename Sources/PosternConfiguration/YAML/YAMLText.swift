/// The text of a configuration file, checked before the YAML parser sees it: UTF-8 without control characters. libyaml
/// checks too, but does not say where.
package struct YAMLText {
  /// The text without its byte order mark.
  let bytes: ArraySlice<UInt8>

  private var scalars: [Unicode.Scalar]
  private var lineStarts = [0]

  /// Checks `bytes`.
  init(_ bytes: [UInt8]) throws(YAMLProblem) {
    let hasByteOrderMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
    self.bytes = bytes.dropFirst(hasByteOrderMark ? 3 : 0)
    scalars = []
    scalars.reserveCapacity(bytes.count)
    var iterator = self.bytes.makeIterator()
    var decoder = UTF8()
    while true {
      switch decoder.decode(&iterator) {
      case .emptyInput: return
      case .error: throw problem("this is not UTF-8 text")
      case .scalarValue(let scalar): try append(scalar)
      }
    }
  }

  /// Whether `scalar` may be part of the name of an anchor (what libyaml takes).
  static func mayNameAnchor(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-": true
    default: false
    }
  }

  /// The scalar at a position that the parser named; nil when there is none.
  func scalar(line: Int, column: Int) -> Unicode.Scalar? {
    guard lineStarts.indices.contains(line - 1), column >= 1 else { return nil }
    let index = lineStarts[line - 1] + column - 1
    return scalars.indices.contains(index) ? scalars[index] : nil
  }

  /// Appends a scalar that YAML accepts as printable (YAML 1.1 section 4.1, as libyaml reads it).
  private mutating func append(_ scalar: Unicode.Scalar) throws(YAMLProblem) {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D, 0x20...0x7E, 0x85, 0xA0...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD, 0x10000...: break
    default: throw problem("control characters are not allowed")
    }
    scalars.append(scalar)
    switch scalar.value {
    case 0x0A where scalars.count > 1 && scalars[scalars.count - 2] == "\r":
      lineStarts[lineStarts.count - 1] = scalars.count
    case 0x0A, 0x0D, 0x85, 0x2028, 0x2029:
      lineStarts.append(scalars.count)
    default:
      break
    }
  }

  /// A problem at the end of what has been read so far.
  private func problem(_ message: String) -> YAMLProblem {
    YAMLProblem(line: lineStarts.count, column: scalars.count - lineStarts[lineStarts.count - 1] + 1, message: message)
  }
}
