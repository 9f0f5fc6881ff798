/// A value of which `print`, interpolation, `String(reflecting:)` and `dump` show the `description` and nothing else:
/// one short line, without secrets and without private properties.
///
/// The default description is the name of the type, which suits a service: its properties mean nothing to a reader.
public protocol ConciseStringConvertible: CustomStringConvertible, CustomReflectable {}

extension ConciseStringConvertible {
  /// The name of the type, with the types that it is in.
  public var description: String {
    let name = String(reflecting: type(of: self))
    guard !name.utf8.contains(UInt8(ascii: "<")) else { return String(describing: type(of: self)) }
    return String(name.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst()) ?? name
  }
  /// A mirror without children, so that a dump of this value, or of one that contains it, shows the description only.
  public var customMirror: Mirror { Mirror(self, children: [], ancestorRepresentation: .suppressed) }
}

/// Makes descriptions that fit one line, whatever the texts in them.
package enum Concise {
  private static let maxScalars = 300
  private static let maxNameScalars = 80
  private static let maxNames = 5
  private static let maxListedScalars = 32

  /// The parts that are known, joined by commas.
  package static func text(_ parts: String?...) -> String {
    line(parts.compactMap(\.self).joined(separator: ", "), max: maxScalars)
  }

  /// A text from outside, such as a name or a title: on one line, and cut.
  package static func name(_ text: String) -> String { line(text, max: maxNameScalars) }

  /// A text from outside, cut to that length.
  package static func name(_ text: String, maxScalars: Int) -> String { line(text, max: maxScalars) }

  /// A capacity, which may be none.
  package static func capacity(_ number: Int) -> String { number == .max ? "unlimited" : grouped(number) }

  /// `1 redirect`, `1,234 bytes`.
  package static func count(_ number: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
  }

  /// `2 keys: a, b`: at most five names.
  package static func list(_ names: [String], of noun: String, plural: String? = nil) -> String {
    guard !names.isEmpty else { return "no \(plural ?? noun + "s")" }
    let shown = names.prefix(maxNames).map { line($0, max: maxListedScalars) }.joined(separator: ", ")
    return "\(count(names.count, noun, plural: plural)): \(shown)\(names.count > maxNames ? ", …" : "")"
  }

  private static func line(_ text: String, max: Int) -> String {
    let scalars = text.unicodeScalars
    let isLong = scalars.count > max
    var line = String.UnicodeScalarView()
    for scalar in scalars.prefix(isLong ? max - 1 : max) {
      line.append(isShown(scalar) ? scalar : " ")
    }
    return isLong ? "\(String(line))…" : String(line)
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
    default: true
    }
  }

  private static func grouped(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (position, digit) in digits.enumerated() {
      if position > 0, (digits.count - position).isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return text
  }
}
