import Logging
import PosternConfiguration
import PosternObservability
import Sidecar

extension Logger.Level {
  /// The configuration's `log.level`.
  init(_ configured: LogConfiguration.Level) {
    self =
      switch configured {
      case .trace: .trace
      case .debug: .debug
      case .info: .info
      case .notice: .notice
      case .warning: .warning
      case .error: .error
      case .critical: .critical
      }
  }
}

extension LogFormat {
  /// The configuration's `log.format`.
  init(_ configured: LogConfiguration.Format) {
    self =
      switch configured {
      case .json: .json
      case .text: .text
      }
  }
}
