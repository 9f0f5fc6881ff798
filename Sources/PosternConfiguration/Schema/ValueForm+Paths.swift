import PosternJSON
import PosternYAML

extension ValueForm where Value == String {
  /// A path as written; relative ones begin at `$CREDENTIALS_DIRECTORY` or at the configuration's directory (see
  /// `ConfigurationDependencies`).
  static var path: Self { text }

  /// A path that is completed with the configuration file's directory; it need not exist yet.
  static var writablePath: Self {
    var form = text
    form.parse = { scalar, context throws(ValueProblem) in
      context.dependencies.inConfigurationDirectory(try line(scalar, context))
    }
    return form
  }

  /// The path of a socket: at most 107 bytes (`sun_path`, unix(7)).
  static var socketPath: Self {
    var form = text
    form.parse = { scalar, context throws(ValueProblem) in
      let path = context.dependencies.inConfigurationDirectory(try line(scalar, context))
      guard path.utf8.count <= 107 else {
        throw ValueProblem("the path has \(path.utf8.count) bytes; a Unix socket's path has at most 107")
      }
      return path
    }
    return form
  }

  /// The path of a file without secrets, completed; the file must be there and readable.
  static var file: Self {
    var form = text
    form.parse = { scalar, context throws(ValueProblem) in
      let path = context.dependencies.resolved(try line(scalar, context))
      switch context.dependencies.readFile(path, ConfigurationDependencies.maxFileBytes) {
      case .failure(let failure): throw ValueProblem(FileProblem(path: path, failure: failure).message)
      case .success(let file) where file.bytes.isEmpty:
        throw ValueProblem("\(ConfigurationPath.printable(path)): the file is empty")
      case .success: return path
      }
    }
    return form
  }

  /// A group of this machine, by name or number; the text stays as it was, to be looked up when it is used.
  static var group: Self {
    var form = text
    form.schema = ["type": ["string", "integer"], "minLength": 1]
    form.parse = { scalar, context throws(ValueProblem) in
      let name = try line(scalar, context)
      guard context.dependencies.groupIdentifier(name) != nil else {
        throw ValueProblem("there is no group \(ConfigurationPath.printable(name)) on this machine")
      }
      return name
    }
    return form
  }

  /// `host:port` on a loopback address.
  static var listenAddress: Self {
    var form = text
    form.schema = [
      "type": "string", "pattern": "^([0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-fA-F:.]+\\]|localhost):[0-9]{1,5}$",
    ]
    form.parse = { scalar, context throws(ValueProblem) in
      let text = try line(scalar, context)
      guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
        throw ValueProblem("must be host:port, as in 127.0.0.1:9464")
      }
      let port = text[text.index(after: colon)...]
      let host = String(text[..<colon])
      guard port.utf8.count <= 5, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), UInt16(port) != nil else {
        throw ValueProblem("must be host:port, as in 127.0.0.1:9464; a port is 0 to 65535")
      }
      guard host == "localhost" || IPAddress.isLiteral(host) else {
        throw ValueProblem("must be an address and a port: 127.0.0.1, [::1] or localhost; no name is looked up")
      }
      return text
    }
    return form
  }

  /// The SHA-256 of a public key (SubjectPublicKeyInfo): `sha256/` and 44 characters of base64 (as in RFC 7469 section
  /// 2.4).
  static var pin: Self {
    var form = text
    form.schema = ["type": "string", "pattern": "^sha256/[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"]
    form.parse = { scalar, context throws(ValueProblem) in
      let text = try line(scalar, context)
      let digits = Array(text.utf8.dropFirst(7))
      let isBase64 = digits.dropLast().allSatisfy { digit in
        switch digit {
        case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
      }
      // Of the last digit before the padding only four bits are used.
      let endsCleanly = digits.count == 44 && "AEIMQUYcgkosw048".utf8.contains(digits[42])
      guard text.hasPrefix("sha256/"), isBase64, endsCleanly, digits.last == UInt8(ascii: "=") else {
        throw ValueProblem("must be sha256/ and the base64 of 32 bytes, 44 characters with one = at the end")
      }
      return text
    }
    return form
  }
}
