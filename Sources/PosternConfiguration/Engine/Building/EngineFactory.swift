import AuthEngine
import HTTPMessages

/// Makes engine values of configuration values; for the factories of issuers, resources and decision points.
enum EngineFactory {
  static func identity(_ certificateFile: String?, _ key: ConfiguredSecret<String>?) -> ClientIdentity? {
    guard let certificateFile, let key else { return nil }
    if case .file(let path) = key.source { return ClientIdentity(certificateFile: certificateFile, key: .file(path)) }
    return ClientIdentity(certificateFile: certificateFile, key: .text(key.value))
  }

  static func url(_ text: String, _ path: String) throws(ConfigurationProblems) -> HTTPURL {
    // What programs leave in a URL is a mistake in a file: mostly a placeholder that was left.
    guard !text.utf8.contains(where: { #"{}|^`"<>"#.utf8.contains($0) }) else {
      throw problem(path, "is not usable: the URL holds a character that must be percent-encoded")
    }
    do {
      return try HTTPURL(text)
    } catch {
      throw problem(path, "is not usable: \(error.phrase)")
    }
  }

  static func problem(_ path: String, _ message: String) -> ConfigurationProblems {
    ConfigurationProblems([ConfigurationProblem(file: "configuration", keyPath: path, message: message)])
  }
}
