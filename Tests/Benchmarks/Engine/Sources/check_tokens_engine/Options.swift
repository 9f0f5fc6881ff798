/// The command line: the same as that of `check_tokens`.
struct Options {
  var tokens = ""
  var keys = ""
  var algorithm = ""
  var issuer = "https://idp.example.com"
  var client = "bench"
  var seconds = 3.0
  var count: Int?
  var wantsVerdicts = false

  init(_ arguments: some Sequence<String>) throws(Failure) {
    var rest = Array(arguments)[...]
    while let name = rest.popFirst() {
      if name == "--verdicts" {
        wantsVerdicts = true
        continue
      }
      guard let value = rest.popFirst() else { throw Failure("\(name): a value is missing") }
      switch name {
      case "--tokens": tokens = value
      case "--jwks": keys = value
      case "--algorithm": algorithm = value
      case "--issuer": issuer = value
      case "--client": client = value
      case "--seconds": seconds = try Self.positive(Double(value), name)
      case "--count": count = try Self.positive(Int(value), name)
      default: throw Failure("\(name): no such option")
      }
    }
    guard !tokens.isEmpty, !keys.isEmpty, !algorithm.isEmpty else {
      throw Failure("--tokens, --jwks and --algorithm are needed")
    }
  }

  private static func positive<Number: Comparable & Numeric>(
    _ value: Number?, _ name: String
  ) throws(Failure) -> Number {
    guard let value, value > 0 else { throw Failure("\(name): a positive number is needed") }
    return value
  }
}
