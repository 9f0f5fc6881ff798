/// Who reports: the attributes that all spans of a process share.
public struct TelemetryResource: Sendable {
  /// `service.name`.
  public var serviceName: String
  /// `service.version`, and the version of the instrumentation scope.
  public var serviceVersion: String
  /// `service.instance.id`: unique to the process.
  public var instanceID: String
  /// `process.pid`.
  public var processID: Int64

  /// A resource of the given parts.
  public init(serviceName: String, serviceVersion: String, instanceID: String, processID: Int64) {
    self.serviceName = serviceName
    self.serviceVersion = serviceVersion
    self.instanceID = instanceID
    self.processID = processID
  }
}
